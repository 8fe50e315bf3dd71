<?php
// A cache-aside application in PHP, with a process per client of the herd (herd.h), as PHP-FPM has them: phpredis, or Laravel's cache on it.
//
//   herd.php phpredis|laravel PORT HERD CLIENTS
//
// PORT is Redis's, or the guard's. A process that is told to die is killed.

use Illuminate\Cache\RedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Container\Container;
use Illuminate\Redis\RedisManager;

const TTL = 300; // seconds

function ask($herd, string $line): string
{
    fwrite($herd, "$line\n");
    return rtrim(fgets($herd), "\n");
}

function load($herd, string $id): string
{
    $value = ask($herd, "load $id");
    if ($value === 'die') {
        posix_kill(getmypid(), SIGKILL);
    }
    return $value;
}

function phpredis_look_up(int $port): Closure
{
    $redis = new Redis();
    $redis->pconnect('127.0.0.1', $port);
    return function (string $id, $herd) use ($redis): string {
        $value = $redis->get("user:$id");
        if ($value === false) {
            $value = load($herd, $id);
            $redis->setex("user:$id", TTL, $value);
        }
        return $value;
    };
}

// The prefixes are those of a new application.
function laravel_look_up(int $port): Closure
{
    $redis = new RedisManager(new Container(), 'phpredis', [
        'options' => ['prefix' => 'laravel_database_'],
        'default' => ['host' => '127.0.0.1', 'port' => $port, 'database' => 0],
    ]);
    $cache = new Repository(new RedisStore($redis, 'laravel_cache'));
    return fn (string $id, $herd): string => $cache->remember("user:$id", TTL, fn () => load($herd, $id));
}

function client(Closure $look_up, int $herd_port): void
{
    $herd = stream_socket_client("tcp://127.0.0.1:$herd_port");
    $order = ask($herd, 'ready');
    while ($order !== 'end') {
        $id = substr($order, strlen('read '));
        $begin = hrtime(true);
        $value = $look_up($id, $herd);
        $order = ask($herd, sprintf('took %d %s', intdiv(hrtime(true) - $begin, 1000), $value));
    }
}

[, $kind, $port, $herd_port, $clients] = $argv;
if ($kind === 'laravel') {
    require 'Illuminate/Cache/autoload.php';
    require 'Illuminate/Redis/autoload.php';
}
for ($i = 0; $i < (int) $clients; ++$i) {
    if (pcntl_fork() === 0) {
        client($kind === 'laravel' ? laravel_look_up((int) $port) : phpredis_look_up((int) $port), (int) $herd_port);
        exit(0);
    }
}
while (pcntl_wait($status) > 0) {
}
