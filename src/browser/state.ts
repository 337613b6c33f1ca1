/* What the script is told, and what it knows of each form. */

/** What the server puts into the script; attributes of the script's own tag come before it. */
declare const served: {
  readonly endpoint: string;
  readonly fieldName: string;
  readonly headerName: string;
  readonly texts: Readonly<Record<string, Partial<Texts>>>;
};

interface FormState {
  /** Something is being sent: a second submission is blocked. */
  isSending: boolean;
  /** The submission that goes on with the token it has waited for. */
  isGoingOn: boolean;
  /** The browser is leaving the page, which may still come to nothing. */
  isLeaving: boolean;
  /** A fresh token is on its way into the field. */
  renewal: Promise<void> | undefined;
  /** What was greyed out, to be usable again. */
  buttons: Button[];
  timer: number | undefined;
}

type Button = HTMLButtonElement | HTMLInputElement;
type Submitter = HTMLElement | null;

const ENDPOINT_TIMEOUT_MS = 10_000;
/** Browsers do not all tell that a navigation came to nothing. The token is kept, so clicking again is safe. */
const LEAVING_TIMEOUT_MS = 15_000;
/** A form that opens another window leaves its own page where it is. */
const OTHER_WINDOW_MS = 2_000;

const attributes: DOMStringMap = document.currentScript instanceof HTMLElement ? document.currentScript.dataset : {};
const endpoint = attributes["endpoint"] ?? served.endpoint;
const fieldName = attributes["fieldName"] ?? served.fieldName;
const headerName = attributes["headerName"] ?? served.headerName;
const ownTexts: typeof served.texts = { ...served.texts, ...JSON.parse(attributes["texts"] ?? "{}") };
const nativeFetch = window.fetch.bind(window);
const states = new WeakMap<HTMLFormElement, FormState>();

function stateOf(form: HTMLFormElement): FormState {
  const known = states.get(form);
  if (known !== undefined) return known;
  const state: FormState = {
    isSending: false,
    isGoingOn: false,
    isLeaving: false,
    renewal: undefined,
    buttons: [],
    timer: undefined,
  };
  states.set(form, state);
  return state;
}
