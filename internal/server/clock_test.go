package server_test

import (
	"fmt"
	"time"

	"github.com/fakecluster/fakecluster/internal/server"
)

// The clock of a server may have any time that an object can have.
func ExampleCheckTime() {
	fmt.Println(server.CheckTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	fmt.Println(server.CheckTime(time.Time{}) != nil)
	// Output:
	// <nil>
	// true
}
