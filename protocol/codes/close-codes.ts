/** WebSocket close codes with a known meaning, from RFC 6455 and IANA's registry. */

interface CloseCode {
  meaning: string;
  remedy: string;
}

const SEE_SERVER = 'see the log of the server at that time';
const SEE_PROTOCOL = 'see whether a proxy in between changes messages, and the log of the server';

const CLOSE_CODES: Record<number, CloseCode> = {
  1000: { meaning: 'a normal close', remedy: 'see what closes WebSockets in the server or in the proxy' },
  1001: { meaning: 'the server shuts down', remedy: 'see why the server, or the proxy, stopped or reloaded' },
  1002: { meaning: 'a violation of the WebSocket protocol', remedy: SEE_PROTOCOL },
  1003: { meaning: 'a type of data that the server does not accept', remedy: SEE_PROTOCOL },
  1005: {
    meaning: 'closed without a code',
    remedy:
      'see whether the server closes its engine (`io.close()`, `socket.conn.close()`), or missed the pongs of its clients',
  },
  1006: {
    meaning: 'TCP ended without a close frame',
    remedy: 'see whether the process of the server ended, and the time-outs and the log of the proxy',
  },
  1007: { meaning: 'text that is not UTF-8, or data that does not fit its type', remedy: SEE_PROTOCOL },
  1008: { meaning: 'a violation of a policy of the server', remedy: 'see what the server requires of its clients' },
  1009: { meaning: 'a message too large', remedy: 'send smaller messages, or raise `maxHttpBufferSize` of the server' },
  1010: { meaning: 'an extension is missing', remedy: SEE_PROTOCOL },
  1011: { meaning: 'an error in the server', remedy: SEE_SERVER },
  1012: { meaning: 'the server restarts', remedy: 'leave the deployment alone during a run' },
  1013: { meaning: 'the server is overloaded: try again later', remedy: 'see the limits of server and proxy' },
  1014: { meaning: 'a bad answer from the server behind the proxy', remedy: 'see the log of the proxy' },
};

const OWN: CloseCode = {
  meaning: 'a code of the application’s own',
  remedy: 'see where the application closes sockets with it',
};

/**
 * Returns the close code that a cause such as `closed_1009` contains. Undefined for other causes and for unknown close
 * codes.
 * @param cause code of a failure or disconnect
 */
export function closeCodeOf(cause: string): (CloseCode & { code: number }) | undefined {
  const code = Number(/^closed_(\d{4})$/.exec(cause)?.[1]);
  const known = CLOSE_CODES[code] ?? (code >= 3000 && code <= 4999 ? OWN : undefined);
  return known && { code, ...known };
}
