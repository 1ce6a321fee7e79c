package kueue

// ClearReservation is giveBack, for the simulation of many resources in a queue.
var ClearReservation = giveBack
