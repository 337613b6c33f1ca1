/* Forms that the browser itself sends. */

function attributeFor(form: HTMLFormElement, submitter: Submitter, name: string): string {
  return submitter?.getAttribute(`form${name}`) ?? form.getAttribute(name) ?? "";
}

/** A token goes nowhere but into the body of a request to this origin. */
function mayCarryToken(form: HTMLFormElement, submitter: Submitter): boolean {
  const action = attributeFor(form, submitter, "action");
  const method = attributeFor(form, submitter, "method").toLowerCase();
  return method === "post" && isOwn(new URL(action || document.URL, document.baseURI));
}

function keepTokenOut(form: HTMLFormElement): void {
  const remove = ({ formData }: FormDataEvent): void => formData.delete(fieldName);
  form.addEventListener("formdata", remove);
  // The browser has read the form by then.
  setTimeout(() => form.removeEventListener("formdata", remove));
}

/** Before the page's own handlers, which are not to run for a second click. */
function blockSecond(event: SubmitEvent): void {
  const state = event.target instanceof HTMLFormElement ? states.get(event.target) : undefined;
  if (state === undefined || !state.isSending || state.isGoingOn) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** After the page's own handlers: what they prevent or send themselves is theirs. */
function onSubmit(event: SubmitEvent): void {
  const { target: form, submitter } = event;
  if (!(form instanceof HTMLFormElement) || event.defaultPrevented) return;
  const state = stateOf(form);
  const held = fieldOf(form);
  if (!mayCarryToken(form, submitter)) keepTokenOut(form);
  else if (held === undefined && !form.hasAttribute("data-submit-token")) return;
  else if (state.isSending && !state.isGoingOn) event.preventDefault();
  else if (held?.value && state.renewal === undefined) leave(form, event);
  else {
    event.preventDefault();
    sendLater(form, submitter);
  }
}

/** The form has no token yet. */
function sendLater(form: HTMLFormElement, submitter: Submitter): void {
  startSending(form);
  tokenOf(form, actionOf(form)).then(
    () => goOn(form, submitter),
    () => {
      stopSending(form);
      tell(form, "submit_token_unavailable");
    },
  );
}

function goOn(form: HTMLFormElement, submitter: Submitter): void {
  const state = stateOf(form);
  const isStillThere = submitButtons(form).some((button) => button === submitter);
  state.isGoingOn = true;
  try {
    form.requestSubmit(isStillThere ? submitter : null);
  } finally {
    state.isGoingOn = false;
    // The page has prevented it this time, or what was changed meanwhile is not valid.
    if (!state.isLeaving) stopSending(form);
  }
}

function leave(form: HTMLFormElement, event: SubmitEvent): void {
  const state = stateOf(form);
  startSending(form);
  state.isLeaving = true;
  setTimeout(() => {
    if (event.defaultPrevented) return stopSending(form);
    disableButtons(form);
    const target = attributeFor(form, event.submitter, "target").toLowerCase();
    if (["", "_self", "_top", "_parent"].includes(target)) {
      state.timer = setTimeout(() => stopSending(form), LEAVING_TIMEOUT_MS);
    } else {
      state.timer = setTimeout(() => {
        stopSending(form);
        putToken(form, "");
      }, OTHER_WINDOW_MS);
    }
  });
}

/** The navigation came to nothing. The token stays: if the server got it after all, the next click is told so. */
function stay(): void {
  for (const form of document.querySelectorAll("form")) if (states.get(form)?.isLeaving) stopSending(form);
}

/** What the page held when it was left has been used, or has died with the session. */
function comeBack(isFrozen: boolean): void {
  const [entry] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  if (!isFrozen && entry?.type !== "back_forward") return;
  for (const form of document.querySelectorAll("form")) {
    if (states.get(form)?.isSending) stopSending(form);
    if (fieldOf(form)?.value) renew(form, actionOf(form));
  }
}
