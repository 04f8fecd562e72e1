/** Recognizes names of options, headers, variables and arguments whose values are credentials, in any spelling. */

/** A name with one of these words is secret: `x-api-key`, `sessionId`, `DB_PASSWORD`. */
const SECRET_WORDS = new Set([
  ...['auth', 'authentication', 'authorization', 'bearer', 'cookie', 'credential', 'csrf', 'jwt', 'key', 'otp', 'pass'],
  ...['passcode', 'passphrase', 'passwd', 'password', 'pin', 'psk', 'pw', 'pwd', 'secret', 'session', 'sid', 'sig'],
  ...['signature', 'token', 'totp', 'xsrf'],
]);
/** Parts of names written without separators: `authtoken`, `apikey`, `sessionid`. */
const SECRET_PARTS =
  /auth$|token|passw|passphrase|pwd|secret|cookie|credential|jwt|apikey|accesskey|privatekey|sessionid/;

/** Returns whether a value of this name is a credential. Ignores case and separators. */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/);
  if (words.some((word) => SECRET_WORDS.has(word) || SECRET_WORDS.has(word.replace(/s$/, '')))) return true;
  return SECRET_PARTS.test(words.join(''));
}

/** Keys below which every value can be a credential. */
const SECRET_PLACES = new Set(['auth', 'headers', 'extraheaders', 'cookie', 'cookies', 'tls', 'query', 'qs']);

/** Returns whether all values below this key are hidden. */
export function isSecretPlace(key: string): boolean {
  return SECRET_PLACES.has(key.toLowerCase()) || isSecretName(key);
}
