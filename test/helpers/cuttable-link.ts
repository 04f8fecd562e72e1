/** A TCP relay that a test can cut, as if a cable were out, or drop, as a firewall does that was restarted. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export class CuttableLink {
  readonly #server: Server;
  #toPort: number;
  readonly #sockets = new Set<Socket>();
  readonly #ahead = new Set<Socket>();
  #answersLeft = Number.POSITIVE_INFINITY;
  #state: 'whole' | 'cut' | 'dropped' = 'whole';

  private constructor(toPort: number) {
    this.#toPort = toPort;
    this.#server = createServer({ noDelay: true }, (client) => {
      if (this.#state === 'dropped') return client.resetAndDestroy();
      const server = connect({ port: this.#toPort, host: '127.0.0.1', noDelay: true });
      this.#ahead.add(server);
      server.on('close', () => this.#ahead.delete(server));
      this.#forward(client, server);
      this.#forward(server, client);
      server.on('data', () => --this.#answersLeft === 0 && this.drop());
    });
  }

  /** Ends with the test. @param toPort of loopback */
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

  /** Nothing passes, and nobody is told. What was sent meanwhile arrives after the mending, as TCP sends it again. */
  cut(): void {
    this.#state = 'cut';
    for (const socket of this.#sockets) socket.pause();
  }

  /** Nothing comes back any more on the connections that there are. */
  cutAnswers(): void {
    for (const socket of this.#ahead) socket.pause();
  }

  /** Both sides are told, and no new connection is made. */
  drop(): void {
    this.#state = 'dropped';
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** When so many chunks have come back from where it leads to. */
  dropAfter(answers: number): void {
    this.#answersLeft = answers;
  }

  /** @param toPort where it leads to from now on */
  mend(toPort = this.#toPort): void {
    this.#toPort = toPort;
    this.#state = 'whole';
    for (const socket of this.#sockets) socket.resume();
  }

  /** The end of a socket is noticed by reading, so not before the link is mended. */
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
