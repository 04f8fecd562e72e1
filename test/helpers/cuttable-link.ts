/** A TCP relay that a test can cut, like an unplugged cable, or drop, like a restarted firewall. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export class CuttableLink {
  readonly #server: Server;
  #toPort: number;
  readonly #sockets = new Set<Socket>();
  readonly #upstreams = new Set<Socket>();
  #answersLeft = Number.POSITIVE_INFINITY;
  #state: 'whole' | 'cut' | 'dropped' = 'whole';

  private constructor(toPort: number) {
    this.#toPort = toPort;
    this.#server = createServer({ noDelay: true }, (client) => {
      if (this.#state === 'dropped') return client.resetAndDestroy();
      const server = connect({ port: this.#toPort, host: '127.0.0.1', noDelay: true });
      this.#upstreams.add(server);
      server.on('close', () => this.#upstreams.delete(server));
      this.#forward(client, server);
      this.#forward(server, client);
      server.on('data', () => --this.#answersLeft === 0 && this.drop());
    });
  }

  /**
   * Opens a relay. It is closed after the test.
   * @param toPort port of the server on loopback
   */
  static async open(t: TestContext, toPort: number): Promise<CuttableLink> {
    const link = new CuttableLink(toPort);
    await new Promise<void>((resolve) => link.#server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      link.#server.close();
      for (const socket of link.#sockets) socket.destroy();
    });
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Stops all traffic without closing connections. Data sent in this state arrives after the repair, like with TCP's
   * retransmission.
   */
  cut(): void {
    this.#state = 'cut';
    for (const socket of this.#sockets) socket.pause();
  }

  /** Stops data from the server on the existing connections. */
  cutAnswers(): void {
    for (const socket of this.#upstreams) socket.pause();
  }

  /** Resets all connections and refuses new connections. */
  drop(): void {
    this.#state = 'dropped';
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Drops the link after this many chunks from the server. */
  dropAfter(answers: number): void {
    this.#answersLeft = answers;
  }

  /**
   * Repairs the link.
   * @param toPort new port of the server
   */
  mend(toPort = this.#toPort): void {
    this.#toPort = toPort;
    this.#state = 'whole';
    for (const socket of this.#sockets) socket.resume();
  }

  /** Forwards data. A closed socket is noticed by a read, so only after the repair. */
  #forward(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('data', (chunk) => to.write(chunk));
    if (this.#state === 'cut') from.pause();
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
