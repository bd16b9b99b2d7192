// Package schema is JSON Schema for the arguments of tools.
package schema
