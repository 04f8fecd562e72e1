/** Measurement windows of a run, with the CPU time that each layer used in them. */

/** CPU time in microseconds that each layer used, by the id of the layer. */
export type CpuUsByLayer = Record<string, number>;

export interface CpuWindow {
  seconds: number;
  /** Upper limit of the window's length in seconds: from before the first reading to after the last reading. */
  secondsAtMost: number;
  cpuUs: CpuUsByLayer;
  /**
   * Number of connections that opened, if the window is a ramp, or of messages that were delivered, if it contains
   * broadcasts.
   */
  units: number;
  /** Mean number of open connections, from the counts at the start and at the end of the window. */
  held: number;
}

export interface RampWindow extends CpuWindow {
  /** Consecutive parts into which the window is divided. */
  parts: CpuWindow[];
  failedAttempts: number;
}

/** A ramp: the phases with arrivals between two pauses. */
export interface Ramp {
  beganAtUs: number;
  /**
   * Time at which all arrivals of the ramp had connected and joined, or at which the time limit passed. Infinite until
   * then.
   */
  endedAtUs: number;
  /** Planned length of the ramp's phases, in seconds. */
  seconds: number;
  connections: number;
}
