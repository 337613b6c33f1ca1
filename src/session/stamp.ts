import type { HeadTemplate, StoredLogin } from "./record.js";

/** What a record's head is to say from now on. */
export interface Stamp {
  readonly head: HeadTemplate;
  /** The login in the head, its time still missing if the script fills it in; `undefined` when nobody is logged in. */
  readonly login: StoredLogin | undefined;
  /** True for a new login: its generation must still be the user's right behind the write. */
  readonly confirm: boolean;
}
