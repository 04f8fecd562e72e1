/** Converts the points in time in messages between hosts. */

/**
 * A point in time on the run's CLOCK_MONOTONIC, in microseconds. In messages of the link, its name is `atUs` or ends in `AtUs`, by which a
 * carrier between hosts finds and converts it. All other times are durations.
 */
export type InstantUs = number;

/** Returns a copy of the message in which `convert` has replaced each number named `atUs`, or with a name that ends in `AtUs`. */
export function withInstants<T>(message: T, convert: (atUs: number) => number): T {
  if (typeof message !== 'object' || message === null) return message;
  if (Array.isArray(message)) return message.map((item) => withInstants(item, convert)) as T;
  return Object.fromEntries(
    Object.entries(message).map(([key, value]) => [
      key,
      /(^a|A)tUs$/.test(key) && typeof value === 'number' ? convert(value) : withInstants(value, convert),
    ]),
  ) as T;
}
