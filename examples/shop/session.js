// @ts-check

const DAY_MS = 86_400_000;

/** Longest life of a login, however busy; the store enforces it. */
export const ABSOLUTE_TTL_MS = 30 * DAY_MS;

/**
 * What express-session is given, beside the store. The cookie carries a random session ID and its signature, nothing else.
 *
 * @param {string} secret
 * @param {boolean} isBehindTls
 */
export function sessionOptions(secret, isBehindTls) {
  return {
    // Browsers take a `__Host-` cookie only from this very host and through TLS: no subdomain can plant one.
    name: isBehindTls ? "__Host-shop" : "shop",
    secret,
    resave: false,
    // Visitors who have not signed in get no cookie and cost no memory.
    saveUninitialized: false,
    // Each visit extends the cookie, as it extends the session.
    rolling: true,
    cookie: {
      path: "/",
      httpOnly: true,
      // "lax" keeps the cookie out of other sites' forms and frames, and still lets links from a mail arrive signed in.
      sameSite: /** @type {const} */ ("lax"),
      secure: isBehindTls,
      maxAge: DAY_MS,
    },
  };
}

/**
 * Ends this device's session and takes its cookie away.
 *
 * @param {import("express").Request} req
 * @param {import("express").Response} res
 * @param {ReturnType<typeof sessionOptions>} options
 */
export async function endSession(req, res, { name, cookie: { maxAge: _maxAge, ...attributes } }) {
  await new Promise((resolve, reject) => {
    req.session.destroy((error) => (error ? reject(error) : resolve(undefined)));
  });
  res.clearCookie(name, attributes);
}

/**
 * Sends the browser to another page, which shows the notice. Waits for the session to be saved, as the browser may be there first.
 *
 * @param {import("express").Request} req
 * @param {import("express").Response} res
 * @param {string} path
 * @param {string} notice
 */
export async function redirectWithNotice(req, res, path, notice) {
  req.session.notice = notice;
  await new Promise((resolve, reject) => {
    req.session.save((error) => (error ? reject(error) : resolve(undefined)));
  });
  res.redirect(303, path);
}

/**
 * The notice that waits in the session, once.
 *
 * @param {import("express").Request} req
 */
export function takeNotice(req) {
  const { notice } = req.session;
  delete req.session.notice;
  return notice;
}
