/** What a browser got. */
export interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** The Set-Cookie lines of this very response. */
  readonly setCookies: readonly string[];
  /** The body as JSON. */
  json<T = Record<string, unknown>>(): T;
}

/** A browser with a cookie jar: one device of one person. Follows redirects only when told to. */
export class Browser {
  readonly #base: string;
  readonly cookies = new Map<string, string>();

  constructor(base: string) {
    this.#base = base;
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.send("GET", path, undefined, headers);
  }

  /** Posts a form. */
  post(path: string, form: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Page> {
    return this.send("POST", path, form, headers);
  }

  async send(
    method: string,
    path: string,
    form?: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Page> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(new URL(path, this.#base), {
      method,
      redirect: "manual",
      headers: { ...(cookie === "" ? {} : { cookie }), ...headers },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    });
    const setCookies = response.headers.getSetCookie();
    for (const line of setCookies) this.#keep(line);
    const text = await response.text();
    return { status: response.status, text, headers: response.headers, setCookies, json: () => JSON.parse(text) };
  }

  /** Goes to where the last response sent it. */
  async follow(page: Page): Promise<Page> {
    const location = page.headers.get("location");
    return location === null ? page : this.get(location);
  }

  /** A second device with the same cookies: what a thief of the cookie has. */
  clone(): Browser {
    const copy = new Browser(this.#base);
    for (const [name, value] of this.cookies) copy.cookies.set(name, value);
    return copy;
  }

  #keep(line: string): void {
    const [pair = "", ...attributes] = line.split(";");
    const equals = pair.indexOf("=");
    const name = pair.slice(0, equals);
    const expires = attributes.map((text) => text.trim()).find((text) => text.toLowerCase().startsWith("expires="));
    const isPast = expires !== undefined && Date.parse(expires.slice("expires=".length)) <= Date.now();
    if (isPast) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(equals + 1));
  }
}
