package clienttool

import (
	"encoding/json"
	"fmt"
	"time"
)

// Config is what a configuration file says about client tools. Zero means that it says nothing.
type Config struct {
	DefaultTimeout    time.Duration // of calls
	KeepaliveInterval time.Duration // of pings
}

// ParseConfig reads {"clientTools":{"defaultTimeout":30000,"keepaliveInterval":30000}},
// in milliseconds. Other keys of the file are not looked at. A file without the
// section is the zero Config.
func ParseConfig(b []byte) (Config, error) {
	var f struct {
		ClientTools struct {
			DefaultTimeout    *float64 `json:"defaultTimeout"`
			KeepaliveInterval *float64 `json:"keepaliveInterval"`
		} `json:"clientTools"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return Config{}, fmt.Errorf("clientTools: %w", err)
	}
	var c Config
	for _, v := range []struct {
		name string
		ms   *float64
		d    *time.Duration
	}{
		{"defaultTimeout", f.ClientTools.DefaultTimeout, &c.DefaultTimeout},
		{"keepaliveInterval", f.ClientTools.KeepaliveInterval, &c.KeepaliveInterval},
	} {
		if v.ms == nil {
			continue
		}
		if *v.ms <= 0 || *v.ms > 24*3600*1000 {
			return Config{}, fmt.Errorf("clientTools: %s must be more than 0 and at most a day, in milliseconds; it is %v", v.name, *v.ms)
		}
		*v.d = time.Duration(*v.ms * float64(time.Millisecond))
	}
	return c, nil
}

// Apply sets in o what c says.
func (c Config) Apply(o *Options) {
	if c.DefaultTimeout > 0 {
		o.Timeout = c.DefaultTimeout
	}
	if c.KeepaliveInterval > 0 {
		o.PingInterval = c.KeepaliveInterval
	}
}
