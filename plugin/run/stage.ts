/** The stages of a run, in their order. */
export type Stage =
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
