/** Failures that clients see when a server process has ended, does not listen, or is slow. */

/** Nothing answered in time: a slow machine causes it, on either side. */
const TIMED_OUT = /timeout|^ETIMEDOUT$/;
/** A gateway answers for a server that is slow or gone. */
const GATEWAY = /^http_5\d\d$/;

const CUT_OFF =
  /^(disconnected_)?transport[ _](close|error)$|^disconnected$|^closed(_1006)?$|^E(CONNREFUSED|CONNRESET|PIPE)$/;

export const isTimeOut = (cause: string) => TIMED_OUT.test(cause);

export const isOfSlowServer = (cause: string) => TIMED_OUT.test(cause) || GATEWAY.test(cause);

export const isCutOff = (cause: string) => CUT_OFF.test(cause) || isOfSlowServer(cause);
