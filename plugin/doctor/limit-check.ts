/** One limit of a machine or of a deployment. */
export interface LimitCheck {
  name: string;
  fits: (connections: number) => boolean;
  /** @returns the line that makes so many fit */
  raise: (connections: number) => string;
}
