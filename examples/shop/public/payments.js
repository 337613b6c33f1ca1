/**
 * Pays by fetch: each payment gets an idempotency key of its own, and is sent again under the same key until there is an answer.
 */
const MAX_TRIES = 5;
const FIRST_WAIT_MS = 500;

const form = document.querySelector("#payment");
const button = form.querySelector("button");
const outcome = document.querySelector("#outcome");

/** What was sent last, while it is not known what became of it. Pressing the button again must not pay it a second time. */
let unsettled;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (button.disabled) return;
  button.disabled = true;
  say("info", "Paying…");
  try {
    await pay();
  } finally {
    button.disabled = false;
  }
});
button.disabled = false;

async function pay() {
  const { amount, currency, quantity, note } = form.elements;
  const body = JSON.stringify({
    amount: Math.round(amount.valueAsNumber * 100),
    currency: currency.value,
    quantity: quantity.valueAsNumber,
    note: note.value,
  });
  if (unsettled?.body !== body) unsettled = { key: crypto.randomUUID(), body };
  const { status, location, answer } = await sendUntilAnswered(unsettled);
  if (status === undefined) {
    say(
      "bad",
      "The shop cannot be reached. It is not known whether you paid. Press “Pay” again: you will not pay twice.",
    );
    return;
  }
  if (status === 401) return window.location.assign("/sign-in");
  if (answer.error === "outcome_unknown") {
    // Under this key nothing will ever be paid again, so a second try is a new decision.
    say("bad", "The shop was interrupted while you were paying. Please ask us before you pay again.");
  } else if (status === 201 && answer.replayed) {
    say("good", "Already done: this payment had gone through. It was paid once. ", location);
  } else if (status === 201) {
    say("good", "Thank you, you have paid. ", location);
  } else {
    say("bad", `Nothing was paid. ${answer.expected === undefined ? "" : `Expected: ${answer.expected}.`}`);
  }
  unsettled = undefined;
  await refresh();
}

/** `status` is missing if nobody answered, or nobody who knows what became of it. */
async function sendUntilAnswered({ key, body }) {
  for (let count = 0; count < MAX_TRIES; count += 1) {
    if (count > 0) await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS * 2 ** (count - 1)));
    try {
      const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
      const response = await fetch("/payments", { method: "POST", headers, body });
      const { status } = response;
      const answer = await response.json();
      const isOpen = status >= 500 || status === 429 || answer.error === "idempotency_in_progress";
      if (!isOpen) return { status, location: response.headers.get("Location"), answer };
    } catch {
      // No answer, or half of one.
    }
    say("info", "No answer yet. Asking again…");
  }
  return {};
}

/** Shows the lists anew. */
async function refresh() {
  const response = await fetch("/payments", { headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const lists = page.querySelector("#payments");
  if (lists !== null) document.querySelector("#payments").replaceWith(lists);
}

function say(tone, text, location) {
  outcome.hidden = false;
  outcome.className = `notice ${tone}`;
  outcome.replaceChildren(text);
  if (!location) return;
  const link = document.createElement("a");
  link.href = location;
  link.textContent = "See the payment";
  outcome.append(link);
}
