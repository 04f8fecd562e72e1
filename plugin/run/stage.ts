/** The stages of a run, in their order. */
export type RunStage =
  | 'warm-up'
  | 'baseline'
  | 'ramp'
  | 'plateau'
  | 'wave'
  | 'after the wave'
  | 'churn'
  | 'hold'
  | 'fault'
  | 'broadcasts'
  | 'drain'
  | 'disconnect'
  | 'end of the run'
  | 'profile'
  | 'done';
