/** Windows of a run, with the CPU time that each layer used in them. */

/** CPU microseconds by layer. */
export type LayerCpu = Record<string, number>;

export interface CpuWindow {
  seconds: number;
  /** Time from before the first reading to after the last reading. */
  secondsAtMost: number;
  cpuUs: LayerCpu;
  /** Connections opened in a ramp, or messages delivered in the broadcasts. */
  units: number;
  /** Mean of the connections at its start and end. */
  held: number;
}

export interface RampWindow extends CpuWindow {
  /** Consecutive parts of the window. */
  parts: CpuWindow[];
  failedAttempts: number;
}

/** The phases with arrivals between two pauses. */
export interface Ramp {
  beganAtUs: number;
  /** When all had connected and joined, or the time limit passed; infinite until then. */
  endedAtUs: number;
  /** Planned length of the phases. */
  seconds: number;
  connections: number;
}
