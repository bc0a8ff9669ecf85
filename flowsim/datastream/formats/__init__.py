"""The formats of messages, under the name of PyFlink's package."""
