/** Failures that clients see when a server process has ended or does not listen. */

/** Failures that a slow machine causes, on either side. */
const TIMED_OUT = /timeout|^ETIMEDOUT$|^http_5\d\d$/;

const CUT_OFF =
  /^(disconnected_)?transport[ _](close|error)$|^disconnected$|^closed(_1006)?$|^E(CONNREFUSED|CONNRESET|PIPE)$|^http_50[234]$/;

export const isTimeOut = (cause: string) => TIMED_OUT.test(cause);

export const isCutOff = (cause: string) => CUT_OFF.test(cause) || TIMED_OUT.test(cause);
