"""Run as a service: what systemd is told, and the unit that it is given.

::

    notify    datagrams to the service manager: ready, reloading, stopping, alive
    report    what it is told while the gateway runs, and when the watchdog hears nothing
    unit      the text of the unit, with the reason of each line
    install   write, check, compare and remove the unit
    systemctl ask systemd
"""
