/* Tokens, and the fields they are in. */

function isOwn(url: URL): boolean {
  return url.origin === window.origin;
}

let firstFetch: Promise<string> | undefined;

/** The session of a visitor who has none yet begins with the first token. The others wait for it, not to get one each. */
function fetchToken(action: string): Promise<string> {
  const ask = (): Promise<string> => askEndpoint(action);
  if (firstFetch !== undefined) return firstFetch.then(ask, ask);
  firstFetch = ask();
  firstFetch.catch(() => {
    firstFetch = undefined;
  });
  return firstFetch;
}

async function askEndpoint(action: string): Promise<string> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), ENDPOINT_TIMEOUT_MS);
  try {
    const url = new URL(endpoint, document.baseURI);
    if (action !== "") url.searchParams.set("action", action);
    const response = await nativeFetch(url.href, {
      // An endpoint on another origin is refused by the browser itself.
      mode: "same-origin",
      cache: "no-store",
      headers: { Accept: "application/json" },
      signal: limit.signal,
    });
    const { token } = await response.json();
    if (!response.ok || typeof token !== "string" || token === "") throw new Error(`status ${response.status}`);
    return token;
  } catch (cause) {
    throw failure("submit_token_unavailable", "no submit token could be fetched", cause);
  } finally {
    clearTimeout(timer);
  }
}

function failure(code: string, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message), { code, cause });
}

function actionOf(form: HTMLFormElement | undefined): string {
  return form?.getAttribute("data-submit-token") ?? "";
}

function fieldOf(form: HTMLFormElement): HTMLInputElement | undefined {
  for (const field of document.getElementsByName(fieldName)) {
    if (field instanceof HTMLInputElement && field.form === form) return field;
  }
  return undefined;
}

function putToken(form: HTMLFormElement, token: string): void {
  let field = fieldOf(form);
  if (field === undefined) {
    field = document.createElement("input");
    field.type = "hidden";
    field.name = fieldName;
    // The browser is not to fill in an old one when the page comes back.
    field.autocomplete = "off";
    form.appendChild(field);
  }
  field.value = token;
}

/** The form's token, once the one that is on its way has arrived. */
async function tokenOf(form: HTMLFormElement, action: string): Promise<string> {
  await stateOf(form).renewal;
  const held = fieldOf(form)?.value;
  if (held) return held;
  const token = await fetchToken(action);
  putToken(form, token);
  return token;
}

/** Gets another token for the form. If that fails, the old one stays: it may be good, and if not the server says so. */
function renew(form: HTMLFormElement, action: string): void {
  const state = stateOf(form);
  const renewal = fetchToken(action)
    .then((token) => putToken(form, token))
    .catch(() => undefined)
    .then(() => {
      if (state.renewal === renewal) state.renewal = undefined;
    });
  state.renewal = renewal;
}
