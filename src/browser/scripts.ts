/* What scripts send: `submitTokens.fetch`. */

interface FetchOptions {
  /** What the token is for; by default what the form's `data-submit-token` says. */
  readonly action?: string;
  /** Whose buttons are greyed out meanwhile, whose token is used, and where messages are shown. */
  readonly form?: HTMLFormElement;
}

async function sendWithToken(input: RequestInfo | URL, init: RequestInit = {}, options: FetchOptions = {}) {
  const request = input instanceof Request ? input : undefined;
  const method = (init.method ?? request?.method ?? "GET").toUpperCase();
  if (["GET", "HEAD", "OPTIONS"].includes(method)) return await nativeFetch(input, init);
  if (!isOwn(new URL(request?.url ?? String(input), document.baseURI))) {
    throw new TypeError("submitTokens.fetch: tokens are not sent to another origin");
  }
  const { form, action = actionOf(form) } = options;
  if (form !== undefined) {
    if (stateOf(form).isSending) throw failure("submit_token_sending", "the form is being sent already");
    startSending(form);
    disableButtons(form);
  }
  try {
    return await send(input, init, new Headers(init.headers ?? request?.headers), action, form);
  } finally {
    if (form !== undefined) stopSending(form);
  }
}

async function send(
  input: RequestInfo | URL,
  init: RequestInit,
  headers: Headers,
  action: string,
  form: HTMLFormElement | undefined,
): Promise<Response> {
  const { body } = init;
  const isForm = body instanceof FormData || body instanceof URLSearchParams;
  const given = headers.get(headerName) || (isForm && body.get(fieldName)) || undefined;
  const sent: RequestInit = { ...init, headers, mode: "same-origin" };
  let token: string;
  try {
    token = typeof given === "string" ? given : await (form ? tokenOf(form, action) : fetchToken(action));
  } catch (error) {
    tell(form, "submit_token_unavailable");
    throw error;
  }
  headers.set(headerName, token);
  if (isForm) sent.body = withToken(body, token);
  let response: Response;
  try {
    // The browser itself then refuses to follow a redirect to another origin.
    response = await nativeFetch(input, sent);
  } catch (error) {
    // The token stays: whether it went through, the next try is told.
    if ((error as Error).name !== "AbortError") tell(form, "submit_token_uncertain");
    throw error;
  }
  await settle(response, token, action, form);
  return response;
}

/** A copy, so that the caller's own can be sent again with another token. */
function withToken(body: FormData | URLSearchParams, token: string): FormData | URLSearchParams {
  const copy = body instanceof FormData ? new FormData() : new URLSearchParams();
  for (const [name, value] of body) copy.append(name, value as string);
  copy.set(fieldName, token);
  return copy;
}

async function settle(
  response: Response,
  token: string,
  action: string,
  form: HTMLFormElement | undefined,
): Promise<void> {
  const error = await refusalIn(response);
  // From these nobody can tell whether the application was reached; with the same token the next try is safe.
  const isUncertain = error === undefined && [502, 503, 504].includes(response.status);
  if (form !== undefined && !isUncertain && (fieldOf(form)?.value ?? token) === token) {
    putToken(form, "");
    if (error !== undefined) renew(form, action);
  }
  if (error !== undefined) tell(form, error, response);
}

async function refusalIn(response: Response): Promise<string | undefined> {
  if (![403, 409, 422].includes(response.status)) return undefined;
  if (!/\bjson\b/.test(response.headers.get("Content-Type") ?? "")) return undefined;
  const answer = await response
    .clone()
    .json()
    .catch(() => undefined);
  const error: unknown = answer?.error;
  return typeof error === "string" && /^(?:submit_token_\w+|duplicate_submission|cross_site)$/.test(error)
    ? error
    : undefined;
}

function wrapFetch(action: string): void {
  window.fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input), document.baseURI);
    return await (isOwn(url) ? sendWithToken(input, init, { action }) : nativeFetch(input, init));
  };
}
