/** Objects that all connections of a fleet process share. `ProcessState` implements this interface. */
import type { FleetAnswer, FleetSettings } from '../fleet-messages.ts';
import type { RatePacer } from '../pacer.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import type { ConnectionDialer } from './connections/dialer.ts';
import type { FaultAccount } from './connections/fault-account.ts';
import type { Reconnects } from './connections/reconnects.ts';
import type { CloseCounts } from './counts/close-counts.ts';
import type { ConnectingCounts } from './counts/connecting.ts';
import type { ConnectionCounts } from './counts/connection-counts.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { ProcessSightings } from './ledger/process-sightings.ts';
import type { RoomShare } from './ledger/room-share.ts';
import type { RepeatedMessages } from './messages/repeated-messages.ts';

export interface FleetProcessParts {
  readonly settings: FleetSettings;
  readonly answer: (answer: FleetAnswer) => void;
  readonly connections: { delete(id: number): void };
  readonly dialer: ConnectionDialer;
  readonly pacer: RatePacer;
  readonly acknowledgements: Acknowledgements;
  readonly returns: Reconnects;
  /** Counts the effects of a planned fault; undefined before the fault begins. */
  readonly faultAccount: FaultAccount | undefined;
  readonly ledger: Ledger;
  readonly sightings: ProcessSightings;
  readonly repeatedMessages: RepeatedMessages;
  readonly counts: ConnectionCounts;
  readonly connecting: ConnectingCounts;
  readonly ends: CloseCounts;
  readonly joinEvent: string | undefined;
  /** Spreads connections over several rooms; undefined if the run has a single room. */
  readonly rooms: RoomShare | undefined;
}
