/* Greying out. */

function startSending(form: HTMLFormElement): void {
  stateOf(form).isSending = true;
  showMessage(form, undefined);
  form.setAttribute("aria-busy", "true");
  for (const button of submitButtons(form)) button.setAttribute("aria-disabled", "true");
}

/** Only once the browser has read the form: the name and value of a disabled button are not sent. */
function disableButtons(form: HTMLFormElement): void {
  const state = stateOf(form);
  for (const button of submitButtons(form)) {
    if (button.disabled) continue;
    // Firefox would remember that it is disabled beyond a reload.
    button.setAttribute("autocomplete", "off");
    button.disabled = true;
    state.buttons.push(button);
  }
}

function stopSending(form: HTMLFormElement): void {
  const state = stateOf(form);
  clearTimeout(state.timer);
  state.isSending = false;
  state.isLeaving = false;
  form.removeAttribute("aria-busy");
  for (const button of submitButtons(form)) button.removeAttribute("aria-disabled");
  for (const button of state.buttons.splice(0)) button.disabled = false;
}

function submitButtons(form: HTMLFormElement): Button[] {
  return Array.from(document.querySelectorAll<Button>("button, input")).filter(
    (button) => button.form === form && (button.type === "submit" || button.type === "image"),
  );
}
