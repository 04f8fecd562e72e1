/** Returns whether a URL's host name is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === '[::1]' || rotatesLoopback(hostname);
}

/** Returns whether this host name can be reached from many source addresses in 127.0.0.0/8. */
export function rotatesLoopback(hostname: string): boolean {
  return hostname === 'localhost' || /^127(\.\d+){3}$/.test(hostname);
}
