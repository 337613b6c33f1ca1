/* Telling the page and the person. */

/** For "de-AT": English, then what there is for German, then for "de-at"; the application's own texts come last each time. */
function textsFor(element: Element): Texts {
  const language = (element.closest("[lang]")?.getAttribute("lang") ?? "").toLowerCase();
  const tags = ["en", ...language.split("-").map((_part, index, parts) => parts.slice(0, index + 1).join("-"))];
  const find = (texts: object, tag: string): object => Object.getOwnPropertyDescriptor(texts, tag)?.value ?? {};
  return Object.assign({}, ...tags.flatMap((tag) => [find(TEXTS, tag), find(ownTexts, tag)]));
}

function textKey(error: string): keyof Texts {
  const key = error.replace(/^submit_token_|_submission$/g, "");
  return key !== "result" && Object.hasOwn(TEXTS["en"] ?? {}, key) ? (key as keyof Texts) : "invalid";
}

/** Tells the page and, unless the page prevents it, the person. */
function tell(form: HTMLFormElement | undefined, error: string, response?: Response): void {
  const link = /<([^<>]+)>\s*;\s*rel="?describedby/.exec(response?.headers.get("Link") ?? "")?.[1];
  const url = link === undefined ? undefined : new URL(link, response?.url || document.baseURI);
  const location = url !== undefined && /^https?:$/.test(url.protocol) ? url.href : undefined;
  const detail = { error, status: response?.status, location };
  const event = new CustomEvent("submittoken:refused", { bubbles: true, cancelable: true, detail });
  if (!(form ?? document).dispatchEvent(event) || form === undefined) return;
  const texts = textsFor(form);
  const message = document.createElement("p");
  message.append(texts[textKey(error)]);
  if (location !== undefined) {
    const anchor = document.createElement("a");
    anchor.href = location;
    anchor.append(texts.result);
    message.append(" ", anchor);
  }
  showMessage(form, message);
}

/** Shows a message at the form's end, or in the element that the page has for it; `undefined` takes the old one away. */
function showMessage(form: HTMLFormElement, message: HTMLElement | undefined): void {
  form.querySelector(".submit-token-message")?.remove();
  if (message === undefined) return;
  message.className = "submit-token-message";
  message.setAttribute("role", "alert");
  (form.querySelector("[data-submit-token-message]") ?? form).appendChild(message);
}
