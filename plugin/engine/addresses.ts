import { CONNECTIONS_PER_LOOPBACK_ADDRESS } from '../../protocol/generator.ts';
import { rotatesLoopback } from '../../protocol/machine/loopback.ts';

/**
 * Source addresses for the connections of all Artillery workers together. All of 127.0.0.0/8 is loopback, so a loopback
 * target gets 127.0.0.2, 127.0.0.3, …; any other target gets the configured addresses.
 * @returns an empty list if the kernel can choose
 */
export function sourceAddresses(target: string, explicit: string[], connections: number): string[] {
  if (explicit.length > 0) return explicit;
  const { hostname } = new URL(target);
  if (!rotatesLoopback(hostname)) return [];
  const count = Math.ceil(connections / CONNECTIONS_PER_LOOPBACK_ADDRESS);
  if (count <= 1) return [];
  return Array.from({ length: count }, (_, index) => `127.0.${Math.floor((index + 2) / 256)}.${(index + 2) % 256}`);
}
