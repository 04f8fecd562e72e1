/** Measurement windows of a run, with the CPU time that each layer used in them. */

/** CPU time in microseconds, by layer. */
export type CpuUsByLayer = Record<string, number>;

export interface CpuWindow {
  seconds: number;
  /** Length of the window: from before the first reading to after the last reading. */
  secondsAtMost: number;
  cpuUs: CpuUsByLayer;
  /** Number of connections opened in a ramp, or of messages delivered in the broadcasts. */
  units: number;
  /** Mean of the connection counts at the start and at the end of the window. */
  held: number;
}

export interface RampWindow extends CpuWindow {
  /** The window, divided into consecutive parts. */
  parts: CpuWindow[];
  failedAttempts: number;
}

/** A ramp: the phases with arrivals between two pauses. */
export interface Ramp {
  beganAtUs: number;
  /** Time at which all arrivals had connected and joined, or at which the time limit passed. Infinite until then. */
  endedAtUs: number;
  /** Planned length of the ramp's phases. */
  seconds: number;
  connections: number;
}
