"""Agents: conversations, turns, tools and model transports."""
