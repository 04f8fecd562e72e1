/**
 * Expectations that every load test has, independent of the scenario. A finding that fails an expectation fails the
 * run.
 */

/**
 * Expectations with the Artillery metrics that measure them. A threshold of `ensure` on one of these metrics replaces
 * the expectation. A name can be the common prefix of several metrics.
 */
export const EXPECTATIONS = {
  'no connection fails': ['connections.failed', 'vusers.failed'],
  'no connection is lost': ['connections.lost', 'connections.held'],
  'all virtual users are connected at once': ['connections.peak'],
  'connections are made at the configured rate': ['connections.rate'],
  'every connection upgrades to WebSocket': [],
  'the server accepts the clients of the run': [],
  'the deployment keeps running': [],
  'the deployment keeps up with the load': [],
  'every connection reconnects after the planned fault': ['socketio.fault.not_reconnected'],
  'every broadcast is sent': [],
  'every member receives every broadcast': [
    'socketio.delivery.coverage',
    'socketio.delivery.received',
    'socketio.delivery.lost_',
  ],
  'nobody receives a broadcast twice': ['socketio.delivery.duplicates'],
  'every message is acknowledged': [
    'socketio.messages.answered',
    'socketio.messages.acknowledged',
    'socketio.messages.unanswered_',
  ],
} as const satisfies Record<string, readonly string[]>;

export type ExpectationName = keyof typeof EXPECTATIONS;

export const EXPECTATION_NAMES = Object.keys(EXPECTATIONS) as [ExpectationName, ...ExpectationName[]];
