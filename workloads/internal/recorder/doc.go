// Package recorder writes the Events of the nodes of a living cluster, as the kubelet words and correlates them.
package recorder
