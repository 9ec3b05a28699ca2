// Package patroni answers tools that were made for Patroni. Words of theirs that have no meaning here, such as how far a replica lags
// behind, are left out; parameters about them are not looked at.
package patroni
