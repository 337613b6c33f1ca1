import { expect, test } from "vitest";
import { idempotencyApp, pay } from "../support/idempotency-app.js";

test("R-I2, R-I5: ten repeats of a payment leave one, with the first answer marked as replayed", async () => {
  const shop = await idempotencyApp();
  const first = await pay(shop, "key-1", { amount: 5 });
  expect(first.status).toBe(201);
  expect(first.json()).toEqual({ id: 1, amount: 5 });
  for (let round = 0; round < 10; round += 1) {
    const again = await pay(shop, "key-1", { amount: 5 });
    expect(again.status).toBe(201);
    expect(again.text).toBe('{"id":1,"amount":5,"replayed":true}');
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.headers.get("content-length")).toBe(String(again.text.length));
  }
  expect(shop.runs()).toBe(1);
});
