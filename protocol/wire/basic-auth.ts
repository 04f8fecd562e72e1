/**
 * Converts the user info of a URL to a header. Node's `fetch` rejects URLs with user info, and Socket.IO's client
 * ignores user info.
 */

/**
 * Returns the URL without user info, and the user info as a Basic Authorization header.
 * @param text a valid URL
 */
export function splitUserInfo(text: string | URL): { url: string; headers: Record<string, string> } {
  const url = new URL(text);
  const { username, password } = url;
  if (username === '' && password === '') return { url: String(text), headers: {} };
  Object.assign(url, { username: '', password: '' });
  return { url: url.href, headers: { Authorization: `Basic ${basicToken(username, password)}` } };
}

/**
 * @param username percent-encoded as in a URL
 * @param password percent-encoded as in a URL
 */
export function basicToken(username: string, password: string): string {
  return Buffer.from(`${decodePercent(username)}:${decodePercent(password)}`).toString('base64');
}

/**
 * Merges several sets of headers. A later header replaces an earlier header with the same name. The case of names is
 * ignored.
 */
export function mergeHeaders(...layers: Record<string, string>[]): Record<string, string> {
  const byName = new Map<string, [string, string]>();
  for (const [name, value] of layers.flatMap(Object.entries<string>)) byName.set(name.toLowerCase(), [name, value]);
  return Object.fromEntries(byName.values());
}

/** Decodes percent-encoding. A text with invalid escapes is returned unchanged. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
