/** Points in time in the messages between hosts, and their conversion. */

/**
 * A point in time on the run's CLOCK_MONOTONIC, in microseconds. On the link, all of them have this type and the name
 * `atUs`, or one that ends in `AtUs`, so that a carrier between hosts can convert them. All other times are durations.
 */
export type InstantUs = number;

/**
 * Converts those of a message: on the link, they are the numbers named `atUs`, or with a name that ends in `AtUs`.
 * @returns a copy of the message; `convert` gets each point in time, in microseconds
 */
export function withInstants<T>(message: T, convert: (atUs: number) => number): T {
  if (typeof message !== 'object' || message === null) return message;
  if (Array.isArray(message)) return message.map((one) => withInstants(one, convert)) as T;
  return Object.fromEntries(
    Object.entries(message).map(([key, value]) => [
      key,
      /(^a|A)tUs$/.test(key) && typeof value === 'number' ? convert(value) : withInstants(value, convert),
    ]),
  ) as T;
}
