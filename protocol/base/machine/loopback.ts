/** @returns whether a host name, as in a URL, is this machine */
export function isLoopback(hostname: string): boolean {
  return hostname === '[::1]' || rotatesLoopback(hostname);
}

/** @returns whether a target on this host name can be reached from many addresses of 127.0.0.0/8 */
export function rotatesLoopback(hostname: string): boolean {
  return hostname === 'localhost' || /^127(\.\d+){3}$/.test(hostname);
}
