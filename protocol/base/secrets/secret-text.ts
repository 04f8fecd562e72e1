/**
 * Recognizes and masks credentials. They are recognized by the name of an option, header or variable, or by their form
 * in URLs, assignments and keys.
 */

/** Words that make a name a secret name: `x-api-key`, `sessionId`, `DB_PASSWORD`. */
const SECRET_WORDS = new Set([
  ...['auth', 'authentication', 'authorization', 'bearer', 'cookie', 'credential', 'csrf', 'jwt', 'key', 'otp', 'pass'],
  ...['passcode', 'passphrase', 'passwd', 'password', 'pin', 'psk', 'pw', 'pwd', 'secret', 'session', 'sid', 'sig'],
  ...['signature', 'token', 'totp', 'xsrf'],
]);
/** Parts that make a name without separators a secret name: `authtoken`, `apikey`, `sessionid`. */
const SECRET_PARTS =
  /auth$|token|passw|passphrase|pwd|secret|cookie|credential|jwt|apikey|accesskey|privatekey|sessionid/;

/** Returns whether a value with this name is a credential. Case and separators are ignored. */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/);
  if (words.some((word) => SECRET_WORDS.has(word) || SECRET_WORDS.has(word.replace(/s$/, '')))) return true;
  return SECRET_PARTS.test(words.join(''));
}

/** Names of keys below which every nested value can be a credential. */
const SECRET_PLACES = new Set(['auth', 'headers', 'extraheaders', 'cookie', 'cookies', 'tls', 'query', 'qs']);

/** Returns whether all values below this key are masked. */
export function hasSecretChildren(key: string): boolean {
  return SECRET_PLACES.has(key.toLowerCase()) || isSecretName(key);
}

/** Text that replaces a secret in all output. */
export const SECRET_MASK = '***';

/** Pattern of values that are not masked: templates, an ellipsis in an example, and values that are already masked. */
const UNMASKED = /^["']?(\{\{[^{}]*\}\}|…|\*\*\*|\$\{?\w+\}?)?["']?$/;
const TEMPLATE = String.raw`\{\{[^{}]*\}\}`;

const PRIVATE_KEY = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?(-----END [A-Z ]*-----|$)/g;
const JSON_WEB_TOKEN = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g;
/** The user info of a URL ends at the last `@` before the path. */
const USER_INFO = /\b([a-z][a-z\d+.-]{0,30}:\/\/)[^\s/"'<>]+@/gi;
const QUERY_VALUE = new RegExp(String.raw`([?&](?:amp;)?[\w.~%[\]-]+)=((?:${TEMPLATE}|[^&\s"'<>#])+)`, 'g');
const BARE_QUERY = /\b([a-z][a-z\d+.-]{0,30}:\/\/[^\s?"'<>]{0,500}\?)([^=&\s"'<>#]+)(?=[&\s"'<>#]|$)/gi;
const FRAGMENT_VALUE = /(#[\w-]+)=([^&\s"'<>]+)/g;

/** The value in the JSON text can be an unterminated string, because the text was shortened. */
const JSON_MEMBER =
  /(["'])([\w.-]+)\1(\s*:\s*)("(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\{[^{}]*\}|\[[^[\]]*\]|[^\s,{}[\]"']+)/g;
const ASSIGNMENT = /(?<![\w.-])([\w.-]+)=("[^"]*"|'[^']*'|[^\s&;,"']+)/g;
const SCHEME = /\b(bearer|basic|digest|negotiate)\s+([\w.~+/=-]+)/gi;
const HEADER = /(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]+)(\s*:\s*)([^"'\r\n]+)/gi;

/** Masks credentials in a text: user info and query values of URLs, private keys, JSON web tokens. */
export function maskUrls(text: string): string {
  return text
    .replace(PRIVATE_KEY, `-----BEGIN $1----- ${SECRET_MASK}`)
    .replace(JSON_WEB_TOKEN, SECRET_MASK)
    .replace(USER_INFO, `$1${SECRET_MASK}@`)
    .replace(QUERY_VALUE, (_, name, value) => `${name}=${maskValue(value)}`)
    .replace(BARE_QUERY, (_, url, value) => `${url}${maskValue(value)}`)
    .replace(FRAGMENT_VALUE, (whole, name, value) => (isSecretName(name) ? `${name}=${maskValue(value)}` : whole));
}

/**
 * Masks credentials as `maskUrls` does, and also values next to a secret name. For text from servers and other
 * programs.
 */
export function maskText(text: string): string {
  return maskUrls(text)
    .replace(HEADER, (whole, name, colon, value) => (isSecretName(name) ? `${name}${colon}${maskValue(value)}` : whole))
    .replace(JSON_MEMBER, (whole, quote, name, colon, value) =>
      isSecretName(name) ? `${quote}${name}${quote}${colon}${maskQuoted(value)}` : whole,
    )
    .replace(ASSIGNMENT, (whole, name, value) => (isSecretName(name) ? `${name}=${maskValue(value)}` : whole))
    .replace(SCHEME, (whole, scheme, value) => (isToken(value) ? `${scheme} ${SECRET_MASK}` : whole));
}

function maskValue(value: string): string {
  return UNMASKED.test(value.trim()) ? value : SECRET_MASK;
}

function maskQuoted(value: string): string {
  const [quote = ''] = value;
  return UNMASKED.test(value) ? value : /["']/.test(quote) ? `${quote}${SECRET_MASK}${quote}` : SECRET_MASK;
}

/**
 * Returns whether a value looks like a credential. The word after "Basic" in "Basic authentication", for example, does
 * not.
 */
function isToken(value: string): boolean {
  return value.length >= 6 && /\d|[A-Z].*[a-z]|=$/.test(value);
}
