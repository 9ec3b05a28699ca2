package impure

import . "time"

func dotted() { Sleep(Second) } // want "uses time.Sleep"
