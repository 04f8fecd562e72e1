/** What the parts of a fleet process share. */
import type { Client, ClientOptions, ClientSink, RecoverableSession } from '../client/client.ts';
import type { FleetAnswer, FleetSettings } from '../fleet-messages.ts';
import type { Pacer } from '../pacer.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import type { Connecting } from './counts/connecting.ts';
import type { Counts } from './counts/connection-counts.ts';
import type { Ends } from './counts/end-counts.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Sightings } from './ledger/process-sightings.ts';
import type { RepeatedMessages } from './messages/repeated-messages.ts';

/** @param sessions of the client before, which the server may restore */
export type CreateClient = (
  slot: number,
  options: ClientOptions,
  sink: ClientSink,
  sessions?: readonly RecoverableSession[],
) => Client;

/** A part of the whole run's connections. */
export interface Share {
  index: number;
  of: number;
}

export interface Parts {
  readonly settings: FleetSettings;
  /** This process among all of this host, and its fleet among all of the run. */
  readonly share: Share;
  readonly fleetShare: Share;
  /** Lowest id of the connections that were opened since the last reset. */
  readonly firstId: number;
  readonly createClient: CreateClient;
  readonly pacer: Pacer;
  readonly answer: (answer: FleetAnswer) => void;
  readonly ledger: Ledger;
  readonly sightings: Sightings;
  readonly messages: RepeatedMessages;
  readonly counts: Counts;
  readonly connecting: Connecting;
  readonly ends: Ends;
  readonly acknowledgements: Acknowledgements;
}
