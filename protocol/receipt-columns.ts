/** The columns in which the copies of one broadcast stand, all empty. */
export const NO_COPIES = {
  expected: 0,
  received: 0,
  lostConnected: 0,
  lostDisconnected: 0,
  duplicates: 0,
  reordered: 0,
  unexpected: 0,
  notMember: 0,
  wrongSize: 0,
  wrongContent: 0,
  early: 0,
  missed: 0,
  resent: 0,
  justJoined: 0,
  justLeft: 0,
};
