/**
 * The further connections of a virtual user that holds many, as a device gateway would: `connect: {count, ratePerSec}`.
 * They do what its first connection is told to do, at the rate at which they were opened. Each is counted by itself; one
 * that fails or drops does not end the flow.
 */
import type { ClientOptions } from '../fleet/client.ts';
import type { FleetConnection, Opened } from '../fleet/fleet.ts';
import { Pacer } from '../fleet/pacer.ts';
import { slug, toFlowError } from './flow-error.ts';
import type { Run } from './run.ts';

export class Crowd {
  readonly #run: Run;
  readonly #pacer: Pacer;
  readonly #members = new Set<FleetConnection>();

  constructor(run: Run, ratePerSec: number) {
    this.#run = run;
    this.#pacer = new Pacer(ratePerSec);
  }

  /** Resolves when all of them are open or have failed. */
  async open(count: number, namespace: string, overrides: Partial<ClientOptions> | undefined): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#paced(() => this.#openOne(namespace, overrides))));
  }

  /** Resolves when every member has done it or failed at it. */
  async each(work: (connection: FleetConnection) => Promise<unknown> | undefined): Promise<void> {
    const members = [...this.#members];
    await Promise.all(
      members.map((member) =>
        this.#paced(async () => {
          await work(member);
        }).catch((error) => this.#fail(error)),
      ),
    );
  }

  async close(): Promise<void> {
    this.#pacer.close();
    await Promise.all([...this.#members].map((member) => member.close()));
    this.#members.clear();
  }

  async #openOne(namespace: string, overrides: Partial<ClientOptions> | undefined): Promise<void> {
    const { fleet, meter } = this.#run;
    const connection = fleet.connection();
    connection.onDrop((reason, dropped) => {
      meter.count('disconnect', slug(reason));
      if (dropped === undefined) this.#members.delete(connection);
    });
    let opened: Opened;
    try {
      opened = await connection.open(namespace, overrides);
    } catch (error) {
      this.#fail(error);
      await connection.close();
      return;
    }
    this.#members.add(connection);
    meter.count('connect');
    meter.record('connectTime', (opened.openedAtUs - opened.begunAtUs) / 1000);
  }

  #fail(error: unknown): void {
    const { code } = toFlowError(error);
    const { failures } = this.#run.tally;
    failures[code] = (failures[code] ?? 0) + 1;
    this.#run.meter.error(code);
  }

  #paced(work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => this.#pacer.add(() => work().then(resolve, reject)));
  }
}
