"""Serve JSON-RPC and subscriptions over WebSocket."""
