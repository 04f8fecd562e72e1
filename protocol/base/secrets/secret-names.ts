/** Names of options, headers, variables and arguments whose values are credentials, however they are written. */

/** One of these words is enough: `x-api-key`, `sessionId`, `DB_PASSWORD`. */
const SECRET_WORDS = new Set([
  ...['auth', 'authentication', 'authorization', 'bearer', 'cookie', 'credential', 'csrf', 'jwt', 'key', 'otp', 'pass'],
  ...['passcode', 'passphrase', 'passwd', 'password', 'pin', 'psk', 'pw', 'pwd', 'secret', 'session', 'sid', 'sig'],
  ...['signature', 'token', 'totp', 'xsrf'],
]);
/** Parts of names that are written as one word: `authtoken`, `apikey`, `sessionid`. */
const SECRET_PARTS =
  /auth$|token|passw|passphrase|pwd|secret|cookie|credential|jwt|apikey|accesskey|privatekey|sessionid/;

/** @returns whether a value of this name is a credential; case and separators do not matter */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/);
  if (words.some((word) => SECRET_WORDS.has(word) || SECRET_WORDS.has(word.replace(/s$/, '')))) return true;
  return SECRET_PARTS.test(words.join(''));
}

/** Places in which every value is a credential, or may be one. */
const SECRET_PLACES = new Set(['auth', 'headers', 'extraheaders', 'cookie', 'cookies', 'tls', 'query', 'qs']);

/** @returns whether nothing below this key is shown */
export function isSecretPlace(key: string): boolean {
  return SECRET_PLACES.has(key.toLowerCase()) || isSecretName(key);
}
