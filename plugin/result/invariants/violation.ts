/** Figures that break a physical invariant. */
export interface Violation {
  /** Ids of memory figures, such as `workerRss`; or of layers, for CPU. */
  figures: string[];
  /** The reported figure, with its value. */
  message: string;
  fix: string;
}
