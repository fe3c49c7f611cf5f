package store

import (
	"fmt"
	"runtime"
	"time"

	"github.com/tidwall/buntdb"
)

// buntdbTick is how long after its opening the goroutine of a buntdb wakes for the first time.
const buntdbTick = time.Second

// afterAll sorts after every key of a record, because keys are UTF-8.
const afterAll = "\xff"

// openInMemory returns an empty buntdb whose goroutine ends when it wakes for the first time.
//
// That goroutine checks every second which entries have expired. No record ever expires, so it would only
// cost time: a year in a testing/synctest bubble has 31 million seconds. So openInMemory adds one entry that
// has expired from the start. The goroutine is notified of it by OnExpired, which ends the goroutine. Reads
// never reach the entry: they stop at the last record.
func openInMemory() (*buntdb.DB, error) {
	db, err := buntdb.Open(":memory:")
	if err != nil {
		return nil, fmt.Errorf("opening buntdb in memory: %w", err)
	}
	var config buntdb.Config
	if err := db.ReadConfig(&config); err != nil {
		return nil, err
	}
	config.OnExpired = func([]string) { runtime.Goexit() }
	if err := db.SetConfig(config); err != nil {
		return nil, err
	}
	return db, db.Update(func(tx *buntdb.Tx) error {
		_, _, err := tx.Set(afterAll, "", &buntdb.SetOptions{Expires: true})
		return err
	})
}

// waitForTick waits, in a testing/synctest bubble, until the goroutine of a closed buntdb has ended.
//
// The time of a bubble advances only when all of its goroutines wait. When it has passed the first tick, the
// goroutine has ended. It lets that time pass even if the database has been open for longer, because
// goroutines of others may be about to end, too. The caller holds no lock, so that a concurrent Close waits
// in the same way.
func waitForTick() { <-time.NewTimer(buntdbTick + time.Millisecond).C }
