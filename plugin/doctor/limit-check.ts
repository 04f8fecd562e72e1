/** One limit of a machine or of a deployment. */
export interface LimitCheck {
  name: string;
  fits: (connections: number) => boolean;
  /** @returns how to raise the limit to that many, as a command where possible */
  raise: (connections: number) => string;
}
