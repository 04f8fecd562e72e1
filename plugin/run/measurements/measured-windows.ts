/** Parts of a run, and the CPU that each layer used in them. */

/** Layer → CPU microseconds. */
export type LayerCpu = Record<string, number>;

export interface CpuWindow {
  seconds: number;
  /** From before its first reading to after its last one. */
  secondsAtMost: number;
  cpuUs: LayerCpu;
  /** Connections made, for the ramp; messages delivered, for the broadcasts. */
  units: number;
  /** Connections: the mean of its begin and its end. */
  held: number;
}

/** Connections are made. */
export interface RampWindow extends CpuWindow {
  /** One after the other. */
  parts: CpuWindow[];
  /** Attempts to connect that failed in it. */
  failedAttempts: number;
}

/** Phases with arrivals, between two pauses. */
export interface Ramp {
  beganAtUs: number;
  /** When all had connected and joined, or time was up; infinite until then. */
  endedAtUs: number;
  /** As the phases ask for. */
  seconds: number;
  connections: number;
}
