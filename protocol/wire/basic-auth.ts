/** Converts user info in a URL to a header, because Node's `fetch` rejects such URLs and Socket.IO's client ignores the user info. */

/** Returns the URL without user info, and a Basic Authorization header if it had any. @param text a valid URL */
export function splitUserInfo(text: string | URL): { url: string; headers: Record<string, string> } {
  const url = new URL(text);
  const { username, password } = url;
  if (username === '' && password === '') return { url: String(text), headers: {} };
  Object.assign(url, { username: '', password: '' });
  return { url: url.href, headers: { Authorization: `Basic ${basicToken(username, password)}` } };
}

/** @param username percent-encoded as in a URL, like `password` */
export function basicToken(username: string, password: string): string {
  return Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
}

/** Merges headers; later ones replace earlier ones, ignoring the case of names. */
export function mergeHeaders(...layers: Record<string, string>[]): Record<string, string> {
  const byName = new Map<string, [string, string]>();
  for (const [name, value] of layers.flatMap(Object.entries<string>)) byName.set(name.toLowerCase(), [name, value]);
  return Object.fromEntries(byName.values());
}

/** Decodes percent-encoding; returns the text unchanged if its escapes are invalid. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
